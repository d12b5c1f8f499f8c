package io.rackwise.assignor;

import org.apache.kafka.common.Uuid;

/** Topic id -> number: a hash table without objects, because every held topic is looked up. */
final class TopicIndex {
    static final int UNKNOWN = -1;

    private final Uuid[] keys;
    private final int[] numbers;
    private final int mask;

    TopicIndex(Uuid[] topics) {
        int size = Integer.highestOneBit(Math.max(topics.length, 4)) * 4;
        mask = size - 1;
        keys = new Uuid[size];
        numbers = new int[size];
        for (int topic = 0; topic < topics.length; topic++) {
            int place = first(topics[topic]);
            while (keys[place] != null) {
                place = place + 1 & mask;
            }
            keys[place] = topics[topic];
            numbers[place] = topic;
        }
    }

    int number(Uuid topic) {
        for (int place = first(topic); keys[place] != null; place = place + 1 & mask) {
            if (keys[place] == topic || keys[place].equals(topic)) {
                return numbers[place];
            }
        }
        return UNKNOWN;
    }

    private int first(Uuid topic) {
        long bits = topic.getMostSignificantBits() ^ topic.getLeastSignificantBits();
        return (int) (bits ^ bits >>> 32) & mask;
    }
}
