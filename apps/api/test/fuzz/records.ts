import type { Operation } from '@quartermaster/contracts/operation.ts';
import { ownersCredential, validInput } from '../isolation/fixtures.ts';
import { type Input, keyWith, OWNER } from '../isolation/world.ts';
import { accountWithKey } from '../support/people.ts';
import type { Credential, TestServer } from '../support/server.ts';
import type { Caller } from './requests.ts';

/** How many records an operation gets, and how many more replace those that it deletes. */
const RECORDS_PER_OPERATION = 2;
const RENEWALS = 15;

/** The existing and the deleted records that requests name. */
export class Records {
  readonly #server: TestServer;
  readonly #strangers: Record<Exclude<Caller, 'owner'>, Credential>;
  /** The ids that all operations have used so far, by path parameter. */
  readonly #known = new Map<string, string[]>();

  private constructor(server: TestServer, strangers: Record<Exclude<Caller, 'owner'>, Credential>) {
    this.#server = server;
    this.#strangers = strangers;
  }

  static async make(server: TestServer): Promise<Records> {
    const stranger = await accountWithKey(server, { tenantId: 'elsewhere' });
    const powerless = { key: await keyWith(server, OWNER, ['users:read']) };
    const garbage = { key: 'qm_garbage' };
    return new Records(server, { anonymous: null, stranger: { key: stranger.key }, powerless, garbage });
  }

  /** The records and credentials for the requests of one operation. */
  async of(operation: Operation): Promise<OperationRecords> {
    const owner = await ownersCredential(this.#server, operation);
    const make = async () => {
      const input = await validInput(this.#server, operation);
      for (const [name, id] of Object.entries(input.path ?? {})) this.#note(name, id);
      return input;
    };
    const inputs: Input[] = [];
    while (inputs.length < RECORDS_PER_OPERATION) inputs.push(await make());
    const [template = { path: {} }] = inputs;
    return new OperationRecords({ inputs, template, make, credentials: { ...this.#strangers, owner } });
  }

  /** An id for a path parameter. If there is no such record yet, the id does not exist. */
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

  /** A valid call of the operation. Its records exist, unless requests have deleted all of them. */
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
