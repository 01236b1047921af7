/** What LangChain's models have in common, as far as it tells their names. */
type ModelLike = {
  /** The model of a `RunnableBinding`, which `bindTools` and `withConfig` return. */
  bound?: unknown;
  model?: unknown;
  modelName?: unknown;
  getLsParams?(options: object): { ls_provider?: string; ls_model_name?: string };
  /** The models of `initChatModel` choose the real model for each run. Nothing else tells which one. */
  _getModelInstance?(config: object): Promise<unknown>;
};

/** The name of a model, and its provider as LangChain calls it. The name is empty if the model does not tell it. */
export async function modelNameOf(
  model: unknown,
  configurable: Record<string, unknown> = {},
): Promise<{ name: string; vendor?: string }> {
  const like: ModelLike = typeof model === 'object' && model !== null ? model : {};
  if (like.bound !== undefined) return modelNameOf(like.bound, configurable);
  if (like._getModelInstance !== undefined)
    return modelNameOf(await like._getModelInstance({ configurable }), configurable);
  const { ls_provider: vendor, ls_model_name: traced } = like.getLsParams?.({}) ?? {};
  const name = [traced, like.model, like.modelName].find((text) => typeof text === 'string') ?? '';
  return { name, ...(vendor !== undefined && { vendor }) };
}
