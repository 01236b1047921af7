/** The path of the public URL, without a slash at its end. Empty if the service has a host of its own. */
export function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '');
}

/** A path of a request without the base path, which a proxy may have removed already. */
export function withoutBasePath(basePath: string, path: string): string {
  if (basePath === '' || !path.startsWith(basePath)) return path;
  const rest = path.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : path;
}
