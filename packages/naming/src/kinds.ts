/** The kinds of things that a provider offers. The contracts have the same ones, as `InventoryKind`. */
export type Kind = 'model' | 'tool' | 'resource' | 'prompt' | 'agent' | 'channel';
