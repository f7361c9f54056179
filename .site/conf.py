"""What Sphinx is told about the site; `build.py` gathers its pages and runs it."""

project = "seekwarc"
extensions = ["myst_parser"]
html_theme = "furo"
# Furo's own underlines names of modules as if they were links.
pygments_dark_style = "github-dark"
html_title = "seekwarc"
html_copy_source = False
html_show_sphinx = False
project_copyright = "the seekwarc developers"
# Links name titles as GitHub spells them.
myst_heading_anchors = 5
# Text stays as it was typed.
smartquotes = False
