import { answerMessages } from '../../platform/worker-thread.ts';
import type { ReadItem } from './item.ts';
import { type AnswerRead, type AnswerRefused, type Question, readAnswer } from './read-answer.ts';

/** Items per message. The event loop that receives a message deserializes all of it in one turn. */
const BATCH_SIZE = 100;

/** To the thread: first an answer to read, then one `next` for each batch of its items. */
export type ToThread = { body: string | Uint8Array; question: Question } | 'next';

/** From the thread: first the answer without its items, or why it is refused; then for each `next` a batch, empty at the end. */
export type FromThread =
  | { read: Omit<AnswerRead, 'items'> }
  | AnswerRefused
  | { failed: unknown }
  | { batch: ReadItem[] };

// This module runs as the worker thread of ask-thread.ts.
let waiting: ReadItem[] = [];

answerMessages(answerTo);

function answerTo(message: ToThread): FromThread {
  try {
    if (message === 'next') return { batch: waiting.splice(0, BATCH_SIZE) };
    const { body, question } = message;
    const answer = readAnswer(typeof body === 'string' ? body : new TextDecoder().decode(body), question);
    if ('refused' in answer) return answer;
    const { items, ...read } = answer;
    waiting = items;
    return { read };
  } catch (error) {
    return { failed: error };
  }
}
