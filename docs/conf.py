"""The site: pages of docs/, of the methods and of the library; `make docs` builds it, and every warning is an error."""

from importlib.metadata import version as installed

project = "fedbayes"
author = "the fedbayes authors"
release = version = installed("fedbayes")
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**", "algorithms/*/README.md"]
exclude_patterns = ["docs/result.schema.json", "docs/dossier.schema.json", "docs/api/modules.rst"]

extensions = ["myst_nb", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "attrs_block"]
apidoc_modules = [
    {
        "path": "../shared/src/fedbayes",
        "destination": "docs/api",
        "exclude_patterns": ["../shared/src/fedbayes/client/**"],
        "separate_modules": True,
        "module_first": True,
        "automodule_options": {"members"},
        "max_depth": 2,
    }
]
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "description"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "furo"
html_title = "fedbayes"
html_extra_path = ["pictures/index.html"]

# In docstrings `shape` or `name` are words, not the attribute of one of the classes that have it; references of numpydoc sections and of
# scikit-learn's inherited methods lead nowhere here.
suppress_warnings = ["ref.python", "ref.footnote", "ref.ref", "ref.term"]
