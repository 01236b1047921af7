/** Markup that is safe to send. Only the `html` tag creates it. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type HtmlValue = string | Html | undefined | readonly Html[];

/** Escapes every value, for text and for quoted attributes. Nested `html` and lists of it are inserted unchanged. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markupOf)));
}

function markupOf(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.markup;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
  return value.map((item) => item.markup).join('');
}
