import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'sqlite',
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    globalSetup: [
      fileURLToPath(import.meta.resolve('@quartermaster/db/testing/database-setup.ts')),
      './testing/build.ts',
    ],
    // One browser and one server for all files: each takes seconds to start.
    isolate: false,
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
  },
});
