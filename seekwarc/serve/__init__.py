"""Serving archives over HTTP: payloads by range, a JSON interface, a page for people.

All but `seekwarc.serve.pywb` need the extra `serve`: `pip install 'seekwarc[serve]'`.
"""
