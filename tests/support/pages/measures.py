"""JavaScript expressions that measure a page in its browser."""

import json
from typing import Final

OVERFLOWING: Final = """
[...document.querySelectorAll("body *")]
    .filter(e => !e.closest(".scroll *, pre *, .unseen, .skip, thead"))
    .filter(e => e.getClientRects().length)
    .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
    .map(e => e.outerHTML.slice(0, 80))
"""
"""Parts that stick out of the window; what scrolls by itself may."""

_CONTRAST: Final = """
(() => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const over = (top, below) => {
        const alpha = top[3] ?? 1;
        return [0, 1, 2].map(i => top[i] * alpha + below[i] * (1 - alpha));
    };
    const light = colour => {
        const [r, g, b] = colour.map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = element => {
        if (!element) return [255, 255, 255];
        const own = channels(getComputedStyle(element).backgroundColor);
        return own[3] === undefined ? own : over(own, behind(element.parentElement));
    };
    const ratio = (element, pseudo) => {
        const below = behind(element);
        const text = over(channels(getComputedStyle(element, pseudo).color), below);
        const [bright, dark] = [light(text), light(below)].sort((a, b) => b - a);
        return (bright + 0.05) / (dark + 0.05);
    };
    const faults = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    const look = (element, pseudo) => {
        seen += 1;
        const found = ratio(element, pseudo);
        if (found < 4.5) faults.push([found.toFixed(2), element.outerHTML.slice(0, 80)]);
    };
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (!element.closest(".unseen, script, style")) look(element);
    }
    look(document.querySelector(FIELD), "::placeholder");
    return [seen, faults];
})()
"""


def contrast(field: str) -> str:
    """Return the number of visible texts, and those with a contrast below 4.5 to 1.

    `field` is a field with a placeholder, which counts as a text.
    """
    return _CONTRAST.replace("FIELD", json.dumps(field))
