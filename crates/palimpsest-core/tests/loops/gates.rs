//! What must hold in continuous integration, as ratios over lists of our own generator.
