import { jsx } from './jsx-runtime.ts';

// What Vite's own server (`npm run dev` in this folder) compiles elements to.

export { Fragment, type JSX } from './jsx-runtime.ts';

export const jsxDEV: typeof jsx = (type, props, key) => jsx(type, props, key);
