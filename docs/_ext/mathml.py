"""Mathematics as MathML, which browsers draw themselves: no script, no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer, node):
    writer.body.append(f'<span class="math">{tex2mathml(node.astext())}</span>')
    raise nodes.SkipNode


def _display(writer, node):
    # The class of the theme lets a keyboard scroll what is wider than the screen.
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math pst-scrollable-table-container">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer, which ``html_math_renderer`` names."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
