"""What Sphinx is told about the site; `build.py` gathers its pages and runs it."""

project = "seekwarc"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "seekwarc"
html_copy_source = False
html_show_sphinx = False
copyright = "the seekwarc developers"
# Links name titles as GitHub spells them, down to those of members on the API page.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
# Prose has straight quotes and `...` of code in it.
smartquotes = False
