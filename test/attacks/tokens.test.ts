import { playAttacks } from './runner.js';
import { TOKENS } from './tokens.js';

playAttacks('tokens', TOKENS);
