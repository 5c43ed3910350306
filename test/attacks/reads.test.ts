import { READS } from './reads.js';
import { playAttacks } from './runner.js';

playAttacks('reads', READS);
