/** The path in front of `/console` and `/v1`, if the service is below a path of its host. The code knows it by where it comes from. */
export const BASE_PATH = basePathOf(import.meta.url);

function basePathOf(moduleUrl: string): string {
  const { pathname } = new URL(moduleUrl);
  return pathname.slice(0, pathname.lastIndexOf('/console/'));
}
