import type { Dialect, ReadSource } from './dialect.ts';
import { isModelName } from './endings.ts';
import type { Facts } from './facts.ts';
import { isModelCall } from './operations.ts';
import { subjectIn } from './span-subject.ts';

/** Sets the facts that the first matching pattern of a dialect finds in a span's name. */
export function readSpanName(spanNames: NonNullable<Dialect['spanNames']>, name: string, facts: Facts): void {
  for (const { pattern, operation } of spanNames) {
    const found = pattern.exec(name);
    if (!found) continue;
    facts.operation ??= operation ?? null;
    for (const [fact, value] of Object.entries(found.groups ?? {})) {
      setIfNull(facts, fact as keyof Facts, subjectIn(value) ?? undefined);
    }
    return;
  }
}

/** The conventions name an MCP call `tools/call <tool>`. Some SDKs write the tool only there. */
export function readMcpName(spanName: string, facts: Facts): void {
  const { mcpMethod } = facts;
  if (mcpMethod === null) return;
  const target = targetIn(spanName, mcpMethod);
  if (mcpMethod === 'tools/call') {
    facts.operation ??= 'execute_tool';
    facts.tool ??= target;
  }
  if (mcpMethod === 'prompts/get') facts.prompt ??= target;
}

/**
 * The conventions name a model call `chat <model>`. LangChain4j CDI writes the requested model only there. Spans that are named
 * like a call but call no model, such as `chat action`, name no vendor.
 */
export function modelInName({ name, kind }: ReadSource, { vendor, operation }: Facts): string | null {
  if (vendor === null || kind !== 'client' || !isModelCall(operation)) return null;
  const target = targetIn(name, operation ?? '');
  return target !== null && isModelName(target) ? target : null;
}

/** The target in a conventional span name: `<operation> <target>`. The MCP SDK for Python writes `MCP send` in front. */
export function targetIn(spanName: string, operation: string): string | null {
  const start = ` ${spanName}`.indexOf(` ${operation} `);
  return start === -1 ? null : subjectIn(spanName.slice(start + operation.length + 1));
}

export function setIfNull(facts: Facts, fact: keyof Facts, value: string | undefined): void {
  if (value && facts[fact] === null) Object.assign(facts, { [fact]: value });
}
