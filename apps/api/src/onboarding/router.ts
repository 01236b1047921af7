import * as contract from '@quartermaster/contracts/onboarding.ts';
import { publicEndpoint, router } from '../trpc.ts';
import { registerUser } from './service.ts';

export const onboardingRouter = router({
  register: publicEndpoint(contract.registerUser).mutation(({ ctx, input }) => registerUser(ctx, input.body)),
});
