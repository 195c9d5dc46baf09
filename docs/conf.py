"""The site: Sphinx reads the Markdown pages of this folder; `make docs` builds it."""

import sys
from pathlib import Path

import parley

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "Parley"
release = version = parley.__version__
html_title = f"Parley {release}"
copyright = "the Parley authors"
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "scripts.docs_site.navigation",
    "scripts.docs_site.api_pages",
    "scripts.docs_site.source_pages",
    "scripts.docs_site.changelog",
]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"footer_icons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
highlight_language = "none"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]

# Docstrings: text in backticks is code, and a link where it names something public.
default_role = "py:obj"
add_module_names = False
# Every page has the whole navigation; with each member in it, a build takes minutes.
toc_object_entries = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
# A type that is imported for type checkers alone is found by its name, which may occur twice.
suppress_warnings = ["ref.python"]
