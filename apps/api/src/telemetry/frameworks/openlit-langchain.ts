import type { Dialect } from '../reading/dialect.ts';
import type { Use } from '../reading/facts.ts';
import { openlit } from './openlit.ts';

const TOOL_NAMES = 'gen_ai.tool.name';

/**
 * OpenLIT's instrumentation of LangChain for JavaScript (github.com/openlit/openlit, sdk/typescript, instrumentation/langchain). The
 * span of a tool has the name of the tool's class. The span of the model has the names of the tools that the model asked for, so they
 * count there.
 */
export const openlitLangchain: Dialect = {
  ...openlit,
  name: 'openlit-langchain',
  scopes: ['@openlit/instrumentation-langchain'],
  signature: [],
  alsoReads: [...(openlit.alsoReads ?? []), TOOL_NAMES],
  uses({ attributes }, { operation, callId }, usual) {
    if (operation === 'chat') return [...usual, ...namedTools(attributes[TOOL_NAMES])];
    // Without the id of a call, a program ran the tool itself, and no model named it.
    return operation === 'execute_tool' && callId !== null ? [] : usual;
  },
};

/** The tools in a list of names, such as `echo, get-sum, echo`. */
function namedTools(list: unknown): Use[] {
  if (typeof list !== 'string') return [];
  const names = list.split(',').map((name) => name.trim());
  const byName = Map.groupBy(
    names.filter((name) => name !== ''),
    (name) => name,
  );
  return [...byName].map(([name, same]) => ({ kind: 'tool', name, times: same.length }));
}
