type Parameter = string | number | boolean | undefined | null;

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Ids in it may come from a link. Write paths with ids as {@link apiPath}. */
  path: string;
  query?: Record<string, Parameter | readonly Parameter[]>;
  body?: unknown;
};

/** A path of the API, as a template: apiPath`/v1/providers/${id}`. The values are encoded as segments. */
export function apiPath(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map((value) => encodeURIComponent(value)));
}

/** A command that makes the same request. The address and the key come from the shell's variables, as in the README. */
export function curlOf({ method, path, query = {}, body }: ApiRequest): string {
  const parameters = Object.entries(query).flatMap(([name, values]) =>
    [values]
      .flat()
      .flatMap((value): [string, string][] =>
        value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
      ),
  );
  const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters).toString()}`;
  const target = `"$QM"${shellQuoted(path + search)}`;
  const parts = ['curl -sS', method === 'GET' ? '' : `-X ${method}`, target, '-H "X-API-Key: $KEY"'];
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${shellQuoted(JSON.stringify(body))}`);
  return parts.filter((part) => part !== '').join(' ');
}

/** A text as one word of a POSIX shell. Within single quotes nothing is expanded (POSIX.1-2024, section 2.2.2). */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
