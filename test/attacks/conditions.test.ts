import { CONDITIONS } from './conditions.js';
import { playAttacks } from './runner.js';

playAttacks('conditions', CONDITIONS);
