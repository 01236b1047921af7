import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: { index: 'src/middleware.ts' },
  platform: 'neutral',
  target: 'es2022',
  // Made from the sources alone, which annotate what they export.
  dts: { generator: 'oxc' },
});
