/** Markup that is safe to send: made by the `html` tag alone. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type HtmlValue = string | Html | undefined | readonly Html[];

/** Every value is escaped, for text and for quoted attributes alike; nested `html` and lists of it stay as they are. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markupOf)));
}

function markupOf(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.markup;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
  return value.map((item) => item.markup).join('');
}
