import * as contract from '@quartermaster/contracts/onboarding.ts';
import { endpoint, publicEndpoint, router } from '../../http/trpc.ts';
import { createOrganization } from './organization.ts';
import { registerUser } from './service.ts';

export const onboardingRouter = router({
  register: publicEndpoint(contract.registerUser).mutation(({ ctx, input }) => registerUser(ctx, input.body)),

  createOrganization: endpoint(contract.createOrganization).mutation(({ ctx, input }) =>
    createOrganization(ctx, input.body),
  ),
});
