import type { RecordingDefinition } from '../../recorder/definition.ts';

const FRAMEWORK = 'Vercel AI SDK';

export const recordings: RecordingDefinition[] = [
  {
    name: 'vercel-ai-6',
    framework: FRAMEWORK,
    packages: ['ai6'],
    program: 'ai-6.ts',
    dialects: ['vercel-ai'],
    setUp: '',
  },
];
