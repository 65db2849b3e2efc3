"""Work with servers that users name: connect, call, inspect, bridge, and generate typed clients."""
