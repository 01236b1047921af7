import { decodeProtectedHeader, errors, jwtVerify } from 'jose';
import { ApiError } from '../../platform/errors.ts';
import {
  currentSigner,
  type KeyServices,
  SIGNING_ALGORITHM,
  type Signer,
  signJws,
  verificationKey,
} from '../signing-keys/service.ts';
import { LiveCache } from './live-cache.ts';

/** The `typ` of binding tokens. Session tokens have another one, so that neither can be used as the other. */
const BINDING_TOKEN_TYPE = 'qm-denial+jwt';

/** What a binding token proves: which evaluation was denied, and which observation counts the denial. */
export type Binding = {
  /** The id of the evaluation. */
  jti: string;
  observation_id: string;
  /** Digests of the subject, the resource and the action, so that the token has none of their values, and a bounded length. */
  subject_digest: string;
  resource_digest: string;
  action_digest: string;
  /** In seconds since 1970. */
  exp: number;
};

/** Signs and verifies the tokens that bind an access request to its denial. */
export class BindingTokens {
  readonly #services: KeyServices;
  readonly #signer: LiveCache<Signer>;

  constructor(services: KeyServices) {
    this.#services = services;
    this.#signer = new LiveCache({ most: 1, load: () => currentSigner(services) });
  }

  /** @param point the URL of the decision point that denied the evaluation */
  async sign(point: string, binding: Binding): Promise<string> {
    const iat = Math.floor(this.#services.now().getTime() / 1000);
    return signJws(await this.#signer.get(''), BINDING_TOKEN_TYPE, {
      iss: point,
      aud: endpointOf(point),
      iat,
      ...binding,
    });
  }

  /** @throws ApiError 400 `invalid_denial_binding`, 410 `expired_denial` */
  async verify(point: string, token: string): Promise<Binding> {
    try {
      const { kid } = decodeProtectedHeader(token);
      const key = await verificationKey(this.#services, kid);
      if (typeof key === 'string') throw invalidBinding();
      const { payload } = await jwtVerify<Binding>(token, key, {
        algorithms: [SIGNING_ALGORITHM],
        typ: BINDING_TOKEN_TYPE,
        issuer: point,
        audience: endpointOf(point),
        requiredClaims: ['jti', 'exp', 'observation_id'],
        currentDate: this.#services.now(),
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ApiError('expired_denial', 'Ask for an evaluation again.');
      // `decodeProtectedHeader` throws a TypeError for text that is not a JWS.
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw invalidBinding();
      throw error;
    }
  }
}

/** Where a decision point takes access requests. */
export function endpointOf(point: string): string {
  return `${point}/access/v1/requests`;
}

export function invalidBinding(): ApiError {
  return new ApiError(
    'invalid_denial_binding',
    'Send the subject, the resource, the action and the denial as they were at this decision point, with its `binding_token`.',
  );
}
