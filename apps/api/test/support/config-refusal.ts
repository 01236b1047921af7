import { ConfigError, readConfig, type StartMode } from '../../src/config.ts';

/** The error message for an environment that is refused. */
export function configRefusal(environment: Record<string, string>, mode: StartMode = null): string {
  try {
    readConfig(environment, mode);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}
