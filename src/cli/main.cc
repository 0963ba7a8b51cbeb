// The program `amphora`: finds the verb, runs it, turns faults into exit status.
int main() { return 2; }
