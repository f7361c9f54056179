"""How far readers and files meet the specification: the conformance kit."""
