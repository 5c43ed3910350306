import { PLANS } from './plans.js';
import { playAttacks } from './runner.js';

playAttacks('plans', PLANS);
