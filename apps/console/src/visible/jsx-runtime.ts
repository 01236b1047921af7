import { Fragment, type JSX, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime';
import { visibleText } from './visible-text.ts';

// The compiler turns every element of the console into a call of this module (`jsxImportSource` in tsconfig.json). So invisible
// and bidirectional characters are shown as marks on every screen, and no screen needs to remember it. Values of text fields
// stay as they are, because they are sent back to the server.

export { Fragment, type JSX };

export const jsx: typeof reactJsx = (type, props, key) => reactJsx(type, visibleProps(props), key);

export const jsxs: typeof reactJsxs = (type, props, key) => reactJsxs(type, visibleProps(props), key);

/** The props whose text people read. */
const TEXTS = ['children', 'title', 'label', 'aria-label', 'placeholder'] as const;

function visibleProps(props: unknown): unknown {
  const given = props as Record<string, unknown>;
  let shown = given;
  for (const name of TEXTS) {
    const value = given[name];
    const visible = visibleNode(value);
    if (visible === value) continue;
    if (shown === given) shown = { ...given };
    shown[name] = visible;
  }
  return shown;
}

/** @returns the same value, unless it is or contains a text with such characters */
function visibleNode(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (!Array.isArray(value)) return value;
  const nodes = value.map(visibleNode);
  return nodes.some((node, index) => node !== value[index]) ? nodes : value;
}
