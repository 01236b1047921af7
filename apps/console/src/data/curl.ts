type Parameter = string | number | boolean | undefined | null;

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  query?: Record<string, Parameter | readonly Parameter[]>;
  body?: unknown;
};

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
  const parts = ['curl -sS', method === 'GET' ? '' : `-X ${method}`, `"$QM${path}${search}"`, '-H "X-API-Key: $KEY"'];
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return parts.filter((part) => part !== '').join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
