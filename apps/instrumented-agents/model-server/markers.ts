/**
 * What every framework is made to do, so that their recordings can be compared. All content carries a marker: no marker may
 * be found in what a receiver stores while it keeps content out.
 */
export const MARKERS = {
  question: 'content-marker-question',
  instructions: 'content-marker-instructions',
  toolDescription: 'content-marker-tool-description',
  toolArgument: 'content-marker-tool-argument',
  toolResult: 'content-marker-tool-result',
  answer: 'content-marker-answer',
  document: 'content-marker-document',
  /** A request that contains this is answered with an error. */
  fail: 'content-marker-fail',
  /** The first request that contains this is answered with an error, the next one is not. */
  failOnce: 'content-marker-once',
  errorText: 'content-marker-error-text',
  header: 'content-marker-header',
  metadata: 'content-marker-metadata',
  command: 'content-marker-command',
  path: 'content-marker-path',
  /** A request to a subagent begins with it. A subagent answers at once. */
  subagentTask: 'content-marker-subagent-task',
} as const;
