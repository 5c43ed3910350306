import { COSTS_AND_SIGNALS } from './costs.js';
import { playTogether } from './together.js';

playTogether('costs', COSTS_AND_SIGNALS);
