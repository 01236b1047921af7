import { testChains } from './credential-chains.ts';

testChains({ chains: 4, rounds: 1 });
