package org.apache.kafka.admin;

/** Where upstream draws its random starts from. */
public final class AdminDraws {
    public static void seed(long seed) {
        AdminUtils.RAND.setSeed(seed);
    }
}
