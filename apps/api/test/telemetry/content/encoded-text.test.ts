import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hasEncodedText, withoutEncodedId, withoutEncodedText } from '../../../src/telemetry/encoded-text.ts';

const TEXTS = [
  'Please refund order 4711 of Ada Lovelace',
  'Kürzlich wurde in München etwas Schönes eröffnet',
  '顧客の住所は東京都千代田区です',
  '{"role":"user","content":"hello there"}',
];
const ENCODINGS = ['base64', 'base64url', 'hex'] as const;

test.each(TEXTS.flatMap((text) => ENCODINGS.map((encoding) => [encoding, text] as const)))(
  'a text in %s is recognised, alone and after a prefix: %s',
  (encoding, text) => {
    const encoded = Buffer.from(text).toString(encoding);
    for (const one of [encoded, `img_${encoded}`, `session/${encoded}`, `a name ${encoded} and more`]) {
      expect(hasEncodedText(one), one).toBe(true);
      expect(withoutEncodedText(one)).not.toContain(encoded.slice(0, 24));
    }
  },
);

test('a data URL is reduced to its media type', () => {
  expect(withoutEncodedText('data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==')).toBe('data:image/png');
  expect(withoutEncodedText('see data:text/plain;charset=utf-8,hello%20there now')).toBe('see data:text/plain now');
  expect(withoutEncodedText('data:,hello')).toBe('data:');
});

test.each(['base64', 'base64url', 'hex'] as const)('a file in %s is recognised by its length', (encoding) => {
  expect(hasEncodedText(randomBytes(400).toString(encoding))).toBe(true);
});

test.each([
  ['PNG', '89504e470d0a1a0a0000000d494844520000000100000001'],
  ['JPEG', 'ffd8ffe000104a46494600010100000100010000ffdb0043'],
  ['PDF', '255044462d312e370a25e2e3cfd30a312030206f626a0a3c'],
])('a short %s file in base64 is recognised by its beginning', (_name, hex) => {
  expect(hasEncodedText(Buffer.from(hex, 'hex').toString('base64'))).toBe(true);
});

test.each([
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'projects/my-project/locations/us-central1/publishers/google/models/gemini-3-pro-preview-11-2025',
  'accounts/fireworks/models/llama-v3p1-405b-instruct',
  'mcp__a-rather-long-server-name__get_all_customers_of_a_region_by_their_last_order',
  'CustomerRelationshipManagementServiceAgentForInternationalOrders',
  'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'checkout-assistant-7d9f8c5b4-x2x9q',
  '@opentelemetry/instrumentation-openai',
  'metadata: a word that contains the name of a scheme',
])('a name or an id is kept: %s', (name) => {
  expect(withoutEncodedText(name)).toBe(name);
});

test('an encoded id becomes a digest: equal ids stay equal, different ids stay different', () => {
  const [one, other] = TEXTS.map((text) => Buffer.from(text).toString('base64')) as [string, string];
  expect(withoutEncodedId(one)).toMatch(/^[\w-]{22}$/);
  expect(withoutEncodedId(one)).toBe(withoutEncodedId(one));
  expect(withoutEncodedId(one)).not.toBe(withoutEncodedId(other));
});

test('a long text that is almost base64 is checked in linear time', () => {
  const before = process.threadCpuUsage();
  expect(hasEncodedText(`${'YWE/'.repeat(100_000)}AAAA`)).toBe(false);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(1);
});
