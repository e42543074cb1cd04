"""HTML elements as trees: text never becomes markup, because nothing is ever put together from strings."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

from selfdebug.terminal import plain

Child = Element | str | None


def element(tag: str, attributes: dict[str, object] | None = None, *children: Child) -> Element:
    """One element. Attributes whose value is None are left out, True ones are empty; None as a child is no child."""
    made = Element(tag)
    for name, value in (attributes or {}).items():
        if value is not None and value is not False:
            made.set(name, "" if value is True else plain(str(value)))
    for child in children:
        _append(made, child)
    return made


def _append(parent: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, Element):
        parent.append(child)
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + plain(child)
    else:
        parent.text = (parent.text or "") + plain(child)


def raw(tag: str, text: str) -> Element:
    """A `style` or `script` element with a text of our own, which HTML does not escape."""
    made = Element(tag)
    made.text = text
    return made


def written(root: Element) -> bytes:
    """The document in UTF-8."""
    html: bytes = tostring(root, encoding="utf-8", method="html")
    return b"<!DOCTYPE html>\n" + html + b"\n"
