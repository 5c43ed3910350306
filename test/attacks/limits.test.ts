import { LIMITS } from './limits.js';
import { playAttacks } from './runner.js';

playAttacks('limits', LIMITS);
