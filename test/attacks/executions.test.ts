import { EXECUTIONS } from './executions.js';
import { playAttacks } from './runner.js';

playAttacks('executions', EXECUTIONS);
