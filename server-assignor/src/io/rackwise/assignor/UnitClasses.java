package io.rackwise.assignor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Classes of partitions: those with the same subscribers and local racks are counted, not listed.
 *
 * <p>Partitions of one cost class have the same audience, which is the set of lists that contain
 * their topic, and cross in the same racks. Partitions of one type have the same owner too.
 *
 * <pre>
 * partition  replicas  owner   crosses in a, b, no rack   cost class  type
 * t-0        a b       m1      - - x                      0           0
 * t-1        b a       m1      - - x                      0           0
 * t-2        b a       m2      - - x                      0           1
 * t-3        a         -       - x x                      1           2
 * </pre>
 *
 * <p>Costs. A move costs 1; a crossing costs 1 more than all owned partitions together.
 */
final class UnitClasses {
    /** Keys below this multiple of their number are counted in a table; others are sorted. */
    private static final int DENSE = 16;

    /** [audiences][lists], whether the members of a list may have partitions of an audience. */
    final boolean[][] audiences;
    /** [classes], the audience of each cost class. */
    final int[] audienceOf;
    /** [classes][racks], whether a member in the rack crosses. */
    final boolean[][] crosses;
    /** [partitions], the cost class of each partition. */
    final int[] classOf;
    /** [classes], the partitions of each cost class. */
    final int[] sizes;
    /** [types], the cost class of each type; types are in order of class and owner. */
    final int[] classOfType;
    /** [types], the owner, or {@code NOBODY}. */
    final int[] ownerOfType;
    /** [types], the partitions of each type. */
    final int[] sizesOfTypes;
    /** [partitions], the type of each partition. */
    final int[] typeOf;
    /** The cost of a crossing. */
    final long crossing;

    private record CostClass(int audience, boolean[] crosses) {
        private static final Comparator<CostClass> ORDER =
                Comparator.comparingInt(CostClass::audience)
                        .thenComparing(CostClass::crosses, Arrays::compare);
    }

    private UnitClasses(NumberedGroup group, PartitionRacks racks) {
        int[] audienceOfTopic = new int[group.topics.length];
        audiences = numberAudiences(group, audienceOfTopic);
        classOf = new int[group.partitions()];
        List<CostClass> found = numberClasses(group, racks, audienceOfTopic);
        audienceOf = new int[found.size()];
        crosses = new boolean[found.size()][];
        sizes = new int[found.size()];
        for (int each = 0; each < sizes.length; each++) {
            audienceOf[each] = found.get(each).audience();
            crosses[each] = found.get(each).crosses();
        }
        int owned = 0;
        // A type is a key: the class, then the owner, with unowned partitions first.
        long[] keys = new long[classOf.length];
        int owners = group.ids.length + 1;
        for (int partition = 0; partition < classOf.length; partition++) {
            int owner = group.ownerOf[partition];
            sizes[classOf[partition]]++;
            owned += owner == NumberedGroup.NOBODY ? 0 : 1;
            keys[partition] = (long) classOf[partition] * owners + owner - NumberedGroup.NOBODY;
        }
        crossing = 1L + owned;
        typeOf = new int[classOf.length];
        long[] types = numberKeys(keys, (long) sizes.length * owners);
        classOfType = new int[types.length];
        ownerOfType = new int[types.length];
        sizesOfTypes = new int[types.length];
        for (int type = 0; type < types.length; type++) {
            classOfType[type] = (int) (types[type] / owners);
            ownerOfType[type] = (int) (types[type] % owners) + NumberedGroup.NOBODY;
        }
        for (int type : typeOf) {
            sizesOfTypes[type]++;
        }
    }

    /** The distinct keys, which are below {@code bound}, ascending; writes the type of each key. */
    private long[] numberKeys(long[] keys, long bound) {
        if (bound > (long) DENSE * keys.length) {
            long[] distinct = Arrays.stream(keys).sorted().distinct().toArray();
            Arrays.setAll(typeOf, each -> Arrays.binarySearch(distinct, keys[each]));
            return distinct;
        }
        int[] numbers = new int[(int) bound];
        for (long key : keys) {
            numbers[(int) key] = 1;
        }
        long[] distinct = new long[(int) Math.min(bound, keys.length)];
        int count = 0;
        for (int key = 0; key < numbers.length; key++) {
            if (numbers[key] == 1) {
                distinct[count] = key;
                numbers[key] = count++;
            }
        }
        Arrays.setAll(typeOf, each -> numbers[(int) keys[each]]);
        return Arrays.copyOf(distinct, count);
    }

    static UnitClasses of(NumberedGroup group, PartitionRacks racks) {
        return new UnitClasses(group, racks);
    }

    /** The distinct audiences, ascending as texts of bits; writes the audience of each topic. */
    private static boolean[][] numberAudiences(NumberedGroup group, int[] audienceOfTopic) {
        Map<BitSet, Integer> numbers = new HashMap<>();
        List<BitSet> found = new ArrayList<>();
        for (int topic = 0; topic < audienceOfTopic.length; topic++) {
            BitSet lists = new BitSet(group.lists.length);
            for (int list = 0; list < group.lists.length; list++) {
                lists.set(list, group.lists[list].get(topic));
            }
            Integer number = numbers.putIfAbsent(lists, found.size());
            if (number == null) {
                number = found.size();
                found.add(lists);
            }
            audienceOfTopic[topic] = number;
        }
        boolean[][] unsorted = new boolean[found.size()][group.lists.length];
        for (int audience = 0; audience < unsorted.length; audience++) {
            BitSet lists = found.get(audience);
            for (int list = 0; list < group.lists.length; list++) {
                unsorted[audience][list] = lists.get(list);
            }
        }
        boolean[][] sorted = unsorted.clone();
        Arrays.sort(sorted, Arrays::compare);
        int[] placeOf = new int[sorted.length];
        for (int audience = 0; audience < sorted.length; audience++) {
            placeOf[audience] = Arrays.binarySearch(sorted, unsorted[audience], Arrays::compare);
        }
        for (int topic = 0; topic < audienceOfTopic.length; topic++) {
            audienceOfTopic[topic] = placeOf[audienceOfTopic[topic]];
        }
        return sorted;
    }

    /** The cost classes in order; writes the class of each partition. */
    private List<CostClass> numberClasses(
            NumberedGroup group, PartitionRacks racks, int[] audienceOfTopic) {
        int sets = racks.sets.count();
        // [audiences * sets], a kind is an audience and a set of racks; several may be one class
        boolean[] isPresent = new boolean[audiences.length * sets];
        for (int topic = 0; topic < group.topics.length; topic++) {
            int first = audienceOfTopic[topic] * sets;
            for (int p = group.starts[topic]; p < group.starts[topic + 1]; p++) {
                isPresent[first + racks.setOf[p]] = true;
            }
        }
        List<CostClass> found = new ArrayList<>();
        for (int kind = 0; kind < isPresent.length; kind++) {
            if (isPresent[kind]) {
                found.add(costClass(racks, kind / sets, kind % sets));
            }
        }
        found.sort(CostClass.ORDER);
        List<CostClass> distinct = new ArrayList<>();
        for (CostClass each : found) {
            int last = distinct.size() - 1;
            if (last < 0 || CostClass.ORDER.compare(distinct.get(last), each) != 0) {
                distinct.add(each);
            }
        }
        int[] classOfKind = new int[isPresent.length];
        for (int kind = 0; kind < isPresent.length; kind++) {
            if (isPresent[kind]) {
                CostClass each = costClass(racks, kind / sets, kind % sets);
                classOfKind[kind] =
                        Collections.binarySearch(distinct, each, CostClass.ORDER);
            }
        }
        for (int topic = 0; topic < group.topics.length; topic++) {
            int first = audienceOfTopic[topic] * sets;
            for (int p = group.starts[topic]; p < group.starts[topic + 1]; p++) {
                classOf[p] = classOfKind[first + racks.setOf[p]];
            }
        }
        return distinct;
    }

    private static CostClass costClass(PartitionRacks racks, int audience, int set) {
        return new CostClass(audience, racks.sets.crosses(set));
    }
}
