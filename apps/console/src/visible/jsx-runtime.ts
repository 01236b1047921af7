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
  // The options of a select are drawn by the component library, which is compiled without this module.
  const options = visibleOptions(given['data']);
  return options === given['data'] ? shown : { ...shown, data: options };
}

/** The choices of a select: texts, choices with a label, or groups of them. @returns the same array if nothing is hidden */
function visibleOptions(data: unknown): unknown {
  if (!Array.isArray(data)) return data;
  const options = data.map(visibleOption);
  return options.some((option, index) => option !== data[index]) ? options : data;
}

function visibleOption(option: unknown): unknown {
  if (typeof option === 'string') {
    const label = visibleText(option);
    return label === option ? option : { value: option, label };
  }
  if (typeof option !== 'object' || option === null) return option;
  const { label, group, items } = option as { label?: unknown; group?: unknown; items?: unknown };
  const shown = { label: visibleNode(label), group: visibleNode(group), items: visibleOptions(items) };
  if (shown.label === label && shown.group === group && shown.items === items) return option;
  return {
    ...option,
    ...(label !== undefined && { label: shown.label }),
    ...(group !== undefined && { group: shown.group, items: shown.items }),
  };
}

/** @returns the same value, unless it is or contains a text with such characters */
function visibleNode(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (!Array.isArray(value)) return value;
  const nodes = value.map(visibleNode);
  return nodes.some((node, index) => node !== value[index]) ? nodes : value;
}
