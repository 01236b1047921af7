import { expect, test } from 'vitest';
import { accountWithKey } from '../../support/people.ts';
import { serverOfTest } from '../../support/server.ts';

test.each(['application/x-protobuf', 'application/json'])(
  'the sender of a much too large body gets an answer: %s',
  async (mediaType) => {
    const server = await serverOfTest({ QM_OTLP_MAX_BYTES: String(64 * 1024) });
    const { key } = await accountWithKey(server, { tenantId: 'receiver' }, ['traces:write']);
    const send = () =>
      fetch(`${server.url}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': mediaType, 'x-api-key': key },
        body: Buffer.alloc(4 * 1024 * 1024, ' '),
      });
    const answers = await Promise.all(Array.from({ length: 8 }, send));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 413));
    for (const answer of answers) expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(0);
  },
);
