"""The generator, from options to the files of a package: inputs, stages, output and reports."""
