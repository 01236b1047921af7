import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ownersCredential, validInput } from '../isolation/fixtures.ts';
import { type Input, keyWith, OWNER } from '../isolation/world.ts';
import { accountWithKey } from '../support/people.ts';
import type { Credential, TestServer } from '../support/server.ts';
import type { Caller } from './requests.ts';

/** Records made for an operation at once, and how often a used up one is made anew. */
const RECORDS_OF_OPERATION = 2;
const RENEWALS = 15;

/** The records that requests name: those that are there, and those that were deleted. */
export class Records {
  readonly #server: TestServer;
  readonly #strangers: Record<Exclude<Caller, 'owner'>, Credential>;
  /** Ids by the path parameter that names them, of all operations so far. */
  readonly #known = new Map<string, string[]>();

  private constructor(server: TestServer, strangers: Record<Exclude<Caller, 'owner'>, Credential>) {
    this.#server = server;
    this.#strangers = strangers;
  }

  static async make(server: TestServer): Promise<Records> {
    const stranger = await accountWithKey(server, { tenantId: 'elsewhere' });
    const powerless = { key: await keyWith(server, OWNER, ['users:read']) };
    const garbage = { key: 'qm_garbage' };
    return new Records(server, { nobody: null, stranger: { key: stranger.key }, powerless, garbage });
  }

  /** What requests for one operation work with. */
  async of(operation: Operation): Promise<OperationRecords> {
    const owner = await ownersCredential(this.#server, operation);
    const make = async () => {
      const input = await validInput(this.#server, operation);
      for (const [name, id] of Object.entries(input.path ?? {})) this.#note(name, id);
      return input;
    };
    const inputs: Input[] = [];
    while (inputs.length < RECORDS_OF_OPERATION) inputs.push(await make());
    const [template = { path: {} }] = inputs;
    return new OperationRecords({ inputs, template, make, credentials: { ...this.#strangers, owner } });
  }

  /** An id of the kind that a path parameter names; one that nobody has where none was made yet. */
  idOf = (parameter: string, index: number): string => {
    const ids = this.#known.get(parameter) ?? [];
    return ids[index % Math.max(ids.length, 1)] ?? `${parameter}-${index}`;
  };

  #note(name: string, id: string): void {
    const ids = this.#known.get(name) ?? [];
    if (!ids.includes(id)) ids.push(id);
    this.#known.set(name, ids);
  }
}

type Made = {
  inputs: Input[];
  template: Input;
  make: () => Promise<Input>;
  credentials: Record<Caller, Credential>;
};

class OperationRecords {
  readonly #live: Input[];
  readonly #dead: Input[] = [];
  readonly #make: () => Promise<Input>;
  readonly #template: Input;
  readonly credentials: Record<Caller, Credential>;
  #renewals = 0;

  constructor({ inputs, template, make, credentials }: Made) {
    this.#live = inputs;
    this.#template = template;
    this.#make = make;
    this.credentials = credentials;
  }

  /** A valid call of the operation; its records are there, unless deletions used up all that are made. */
  async live(index: number): Promise<Input> {
    if (this.#live.length === 0 && this.#renewals < RENEWALS) {
      this.#renewals += 1;
      this.#live.push(await this.#make());
    }
    return this.#live[index % Math.max(this.#live.length, 1)] ?? this.dead(index) ?? this.#template;
  }

  dead(index: number): Input | undefined {
    return this.#dead[index % Math.max(this.#dead.length, 1)];
  }

  buried(input: Input): void {
    const at = this.#live.indexOf(input);
    if (at >= 0) this.#dead.push(...this.#live.splice(at, 1));
  }
}

export type { OperationRecords };
