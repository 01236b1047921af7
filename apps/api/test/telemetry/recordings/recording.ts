import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a real framework exported while a program ran, and what the program really did. apps/instrumented-agents makes them. */
export type Recording = {
  /** The name of the file. */
  id: string;
  framework: string;
  version: string;
  /** Markdown: how to switch the telemetry on. */
  setUp: string;
  requests: { path: string; contentType: string; contentEncoding: string | null; body: string }[];
  truth: Truth;
  /** Facts that the telemetry does not contain, one reason for each. */
  cannotKnow: string[];
  /** Words that occur in every text of the program that is content. */
  markers: string[];
};

/** Counted by the model server, the MCP server and the program, not by the telemetry. */
type Truth = {
  models: (Calls & { vendor: string; inputTokens: number; outputTokens: number })[];
  tools: (Calls & { server: string | null; runsAt: 'vendor' | 'agent' | null })[];
  agents: { name: string }[];
  errors: number;
};

/** `failed`: how many of the calls failed. Known for the programs that are written by hand. */
type Calls = { name: string; calls: number; failed?: number };

/** All recordings, by name. */
export function readRecordings(): Recording[] {
  const folder = import.meta.dirname;
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => {
    const recorded: Omit<Recording, 'id'> = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    return { ...recorded, id: file.slice(0, -'.json'.length) };
  });
}
