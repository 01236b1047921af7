import { expect, test } from 'vitest';
import { bundleSizes } from '../testing/bundle.ts';

const KB = 1000;

test('the first screen is at most 230 KB of JavaScript and CSS, compressed by brotli', () => {
  expect(bundleSizes().firstScreen).toBeLessThanOrEqual(230 * KB);
});

test('every screen that is loaded later adds at most 60 KB, except for the editor', () => {
  const { later } = bundleSizes();
  expect(later.length).toBeGreaterThan(15);
  expect(later.filter(({ bytes, isEditor }) => bytes > 60 * KB && !isEditor)).toEqual([]);
});
