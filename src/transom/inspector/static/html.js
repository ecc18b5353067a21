// Preact with htm: templates in plain JavaScript, so that there is no build step. A text in a template becomes a text
// node, never markup: that is why nothing in a log can run here. Never use dangerouslySetInnerHTML.
import { Component, Fragment, createElement, createRef, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(createElement);
export { Component, Fragment, createRef, render };
