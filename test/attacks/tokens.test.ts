import { playTogether } from './together.js';
import { TOKENS } from './tokens.js';

playTogether('tokens', TOKENS);
